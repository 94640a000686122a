-- Many objects one after the other: wrk … -- <method> <path before the number> <path after it> <how many> <bytes to send>
-- The key comes by the environment: a command line can be read by everybody on the machine.
local method, before, after, count, number

function init(args)
  method, before, after, count, number = args[1], args[2], args[3], tonumber(args[4]), 0
  wrk.headers["Authorization"] = "Bearer " .. (os.getenv("BENCH_KEY") or "")
  if tonumber(args[5]) > 0 then wrk.body = string.rep("x", tonumber(args[5])) end
end

function request()
  number = (number + 1) % count
  return wrk.format(method, before .. number .. after)
end
