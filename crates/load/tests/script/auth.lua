-- The first response brings a token, which all later requests carry.
local token
local path = "/login"

function request()
   return wrk.format("GET", path)
end

function response(status, headers)
   if status == 200 and not token then
      token = headers["X-Token"]
      wrk.headers["X-Token"] = token
      path = "/inside"
   end
end
