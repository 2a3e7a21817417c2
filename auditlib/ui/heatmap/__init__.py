"""The token heatmap, on a page (`heatmap`) and as a file of its own (`standalone_html`)."""

from auditlib.ui.heatmap.component import heatmap
from auditlib.ui.heatmap.payload import difference_payload, heatmap_payload
from auditlib.ui.heatmap.standalone import standalone_html

__all__ = ["difference_payload", "heatmap", "heatmap_payload", "standalone_html"]
