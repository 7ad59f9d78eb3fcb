"""The tables of a report: described once, shown on the page and in a terminal."""
