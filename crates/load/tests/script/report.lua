-- The end of a run as lines of a table.
function done(summary, latency, requests)
   for _, percent in ipairs({ 50, 75, 99.9 }) do
      io.write(("%g%%,%d\n"):format(percent, latency:percentile(percent)))
   end
   io.write(("%d requests, %d bytes, %d us\n"):format(summary.requests, summary.bytes, summary.duration))
end
