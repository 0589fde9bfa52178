-- Maintenance for everybody but those who send the right header, as the team does to look at a new version.
local key = "change this"

local function request(request)
  if serow.equal(request.headers.x_preview or "", key) then return end
  return {
    status = 503,
    headers = { retry_after = 600, content_type = "text/html; charset=utf-8" },
    body = "<h1>Back in ten minutes</h1>",
  }
end

return { request = request }
