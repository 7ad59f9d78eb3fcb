"""Charts: each one is described once in Vega-Lite, and drawn in pages, as PNG and as SVG."""
