"""The ablations (*.yaml), and the report on what came out of them."""
