-- Cookies that clients cannot change: the application sees `user` only if the signature is right.
local secret = "change this"

local function sign(value) return serow.base64.encode_url(serow.hmac(secret, value)) end

local function request(request)
  -- Clients could send the field themselves.
  request.headers.x_user = nil
  local user, signature = (request.cookies.session or ""):match("^([%w@.-]+)|([%w_-]+)$")
  if user and serow.equal(signature, sign(user)) then request.headers.x_user = user end
end

local function response(request, response)
  -- The application names the user that has logged in; the cookie is made here.
  local user = response.headers.x_set_user
  if user then
    response.headers.x_set_user = nil
    response:add_header("set-cookie", "session=" .. user .. "|" .. sign(user) .. "; Path=/; HttpOnly; Secure; SameSite=Lax")
  end
end

return { request = request, response = response }
