"""How fast everything is, side by side, on the machine at hand: python -m sweeps.bench [--only train,...]"""
