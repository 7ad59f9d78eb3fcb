"""Every chart of the project: described once in Vega-Lite, drawn in a page, as PNG and as SVG."""
