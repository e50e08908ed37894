"""Markup and placeholders that survive translation, whatever the model: taken out, and put back by word alignment.

`plan(text)` gives the lines to translate; `marks.py` holds the table of what counts as a mark.
"""

from seqline.markup.marks import Kind, Mark, find_marks
from seqline.markup.plan import LinePlan, Plan, plan

__all__ = ["Kind", "LinePlan", "Mark", "Plan", "find_marks", "plan"]
