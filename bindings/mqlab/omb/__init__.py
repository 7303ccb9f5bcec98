"""OpenMessaging Benchmark: its workload and driver files run as they are, its results are read and written."""
