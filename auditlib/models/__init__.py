"""Target models behind one Protocol: texts in, `TokenStats` out.

Nothing is imported here: torch takes seconds, and a page must draw itself before that.
`opening.SHELF.open(ModelRequest(...), settings())` gives a loaded model.
"""

import os

# OpenMP reads it when torch is loaded, and every module that loads torch for us lies in here. By default a thread that
# waits for another keeps its core busy; where page, browser and worker share two cores, reading then takes twice as
# long.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
