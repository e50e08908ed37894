"""What outputs are worth, whoever made them, a run or a file: scored, compared with another system's, put on a page."""
