-- One response made of two services: what one of them does not say in time is left out.
local function ask(url)
  local ok, response = pcall(serow.fetch, { url = url, timeout = 1 })
  return ok and response.status == 200 and serow.json.decode(response.body) or serow.json.null
end

local function request(request)
  local id = request.path:match("^/pages/(%d+)$")
  if not id then return 404 end
  return {
    headers = { content_type = "application/json" },
    body = serow.json.encode({ product = ask("catalogue/products/" .. id), stock = ask("warehouse/stock/" .. id) }),
  }
end

return { request = request }
