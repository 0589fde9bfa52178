-- A/B test by cookie: one of ten visitors gets the new version, and keeps it.
local function request(request)
  local version = request.cookies.version
  if version ~= "a" and version ~= "b" then
    version = math.random(10) == 1 and "b" or "a"
    request.notes.is_new = true
  end
  request.notes.version = version
  -- The application, or a route with `when`, reads it.
  request.headers.x_version = version
end

local function response(request, response)
  if request.notes.is_new then
    response:add_header("set-cookie", "version=" .. request.notes.version .. "; Path=/; Max-Age=2592000; SameSite=Lax")
  end
end

return {
  request = request,
  response = response,
  log = function(request) return { version = request.notes.version } end,
}
