"""Target models behind one Protocol: texts in, `TokenStats` out.

Nothing is imported here: torch takes seconds, and a page must draw itself before that.
`opening.SHELF.open(ModelRequest(...), settings())` gives a loaded model.
"""
