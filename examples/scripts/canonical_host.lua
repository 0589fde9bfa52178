-- One address for each page: www.example.com and example.com., upper case and a slash too many lead to the same one.
local host = "example.com"

local function request(request)
  local path = request.path
  if not path then return 400 end
  local canonical = path:gsub("(.)/$", "%1")
  if request.host == host and canonical == path then return end
  local query = request.query and "?" .. request.query or ""
  return { status = 308, headers = { location = "https://" .. host .. serow.url.encode(canonical) .. query } }
end

return { request = request }
