-- 10 requests at once and one more each second, for each API key; all threads count together. Threads that look at the
-- same moment may let one more request through; `limit` of the settings does not.
local burst, per_second = 10, 1

local function request(request)
  local key = request.headers.x_api_key
  if not key then return 401 end
  local now = serow.time()
  -- The debt of the requests so far, as a time of the clock: a request that would make it later than now is refused.
  local name = "bucket:" .. key
  local owed = math.max(serow.shared.get(name) or 0, now - burst / per_second) + 1 / per_second
  if owed > now then
    return { status = 429, headers = { retry_after = math.ceil(owed - now) }, body = "too many requests\n" }
  end
  serow.shared.set(name, owed, burst / per_second + 1)
end

return { request = request }
