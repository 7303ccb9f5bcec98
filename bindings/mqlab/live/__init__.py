"""The live world: real brokers on this machine, and the pipeline's very modules on them."""
