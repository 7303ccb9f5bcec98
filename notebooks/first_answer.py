# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     name: python3
# ---

# %% [markdown]
# # A first answer
#
# A worker takes requests from a NATS JetStream stream and acknowledges each when it is done with it. Handling a
# request takes 300 ms; the consumer's `ack_wait` is shorter. **Is a request handled twice?**
#
# The scenario file says all of this, with its question:

# %%
from pathlib import Path

import mqlab

scenario = mqlab.load(Path("..") / "experiments" / "nats-ack-wait.toml")
print(scenario.question)

# %% [markdown]
# ## The verdict
#
# `verify` runs many schedules in the simulated world, looks for one that breaks a claim, and makes it small.

# %%
verdicts = mqlab.verify(scenario, schedules=500, out="../runs/first-answer")
verdicts.table()

# %% [markdown]
# ## The story
#
# The shortest run that breaks the claim, told and drawn. Red rows prove the violation.

# %%
broken = verdicts["no_duplicates"]
print(broken.explanation, *broken.story, sep="\n")

# %%
broken.counterexample.plot()

# %% [markdown]
# ## On the real broker
#
# The same story, with the very same code of the worker, on a NATS server that is started for it here.

# %%
real = mqlab.replay(broken.counterexample, world="live", times=2)
[run.verdicts["no_duplicates"].verdict for run in real]

# %% [markdown]
# ## Where the limit is
#
# Which handling times are safe? A sweep runs the scenario for each and gives a tidy table.

# %%
times = ["50ms", "100ms", "150ms", "180ms", "220ms", "250ms", "300ms"]
table = mqlab.sweep(scenario, {"stages.worker.service_time": times}, repeats=2)
claim = broken.scope
table.groupby("stages.worker.service_time", sort=False).agg({claim: "unique", "latency_p50": "mean"})

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
handling = table["stages.worker.service_time"].str.removesuffix("ms").astype(int)
for verdict, colour in (("holds", "tab:green"), ("violated", "tab:red")):
    rows = table[claim] == verdict
    axes.plot(handling[rows], table["latency_p50"][rows] * 1000, "o", color=colour, label=f"handled once: {verdict}")
axes.set(xlabel="handling time, ms", ylabel="median latency, ms")
axes.legend();

# %% [markdown]
# ## Is the model right?
#
# The mended scenario, which tells the server that work goes on, in both worlds: quantile by quantile, claim by claim.

# %%
both = mqlab.compare(mqlab.load(Path("..") / "experiments" / "nats-in-progress.toml"))
both.table()

# %%
both.plot()
