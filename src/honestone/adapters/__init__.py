"""One file per outside thing. Adapters know the ports and `system`, never the engine or each other."""
