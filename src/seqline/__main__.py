"""`python -m seqline` is `seqline`."""

from seqline.cli import main

if __name__ == "__main__":
    main()
