-- The key comes by the environment: a command line can be read by everybody on the machine.
wrk.headers["Authorization"] = "Bearer " .. (os.getenv("BENCH_KEY") or "")
