"""An evaluation as one HTML page: opens from a disk, asks no network for anything and needs no script."""

from seqline.judging.page.page import page as page
