"""Facts about brokers and clients, each shown by a run: in the simulated world and on real brokers.

The entries are data (tests/conformance, shipped with the package): what is said, where it is said, a scenario, and
what must be seen. `runner` carries them out; `mqlab conformance` is its command line.
"""
