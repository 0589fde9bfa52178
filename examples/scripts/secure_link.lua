-- Links that expire, as nginx's secure_link makes them, with HMAC in place of MD5.
--
-- /files/report.pdf?expires=1767225600&signature=... is served until then; the application makes the signature:
-- base64url(hmac_sha256(secret, expires .. path)).
local secret = "change this"

local function request(request)
  if request.path:sub(1, 7) ~= "/files/" then return end
  local expires, signature = tonumber(request.arguments.expires), request.arguments.signature
  if not expires or not signature then return 403 end
  local expected = serow.base64.encode_url(serow.hmac(secret, request.arguments.expires .. request.path))
  if not serow.equal(signature, expected) then return 403 end
  if expires < serow.time() then return 410 end
  request.query = ""
end

return { request = request }
