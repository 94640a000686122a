# Prints numbered lines with the moment they were printed, once it is told how many a second and for how long.
import sys
import time

print('listening', flush=True)
for line in sys.stdin:
    rate, seconds = map(int, line.split())
    started = time.time()
    for number in range(rate * seconds):
        wait = started + number / rate - time.time()
        if wait > 0:
            time.sleep(wait)
        print(f'line {number} {time.time():.6f}', flush=True)
    print('over', flush=True)
