"""A finished run to hand over: one sequence of blocks, shown as HTML, as PDF, and in an evidence package."""
