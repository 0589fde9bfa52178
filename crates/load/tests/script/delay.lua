-- Up to a hundredth of a second before each request.
function delay()
   return math.random(1, 10)
end
