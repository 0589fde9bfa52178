# A page, uploads, and what Rails answers itself.
require 'action_controller/railtie'
class Site < Rails::Application
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = 'x' * 40
  config.hosts.clear
  config.public_file_server.enabled = false
  config.logger = Logger.new(IO::NULL)
  config.root = __dir__
  # The same number for all requests: two servers are compared.
  config.middleware.delete Rack::Runtime
  config.middleware.delete ActionDispatch::RequestId
  routes.append do
    root to: 'pages#home'
    get '/pages/:name', to: 'pages#show'
    post '/uploads', to: 'pages#upload'
    get '/go', to: redirect('/pages/one')
    %w[moved gone invalid fresh].each { |name| get "/status/#{name}", to: "pages##{name}" }
  end
end
class PagesController < ActionController::Base
  def home = render(html: '<h1>home</h1>'.html_safe)
  def show = render(plain: "#{params[:name]} #{request.scheme} #{request.host} #{request.remote_ip} #{request.query_string}")
  # Responses that Rack::ETag does not make arrays of.
  def moved = redirect_to('/pages/one')
  def gone = head(404)
  def invalid = render(plain: 'invalid', status: 422)
  def fresh = (render(plain: 'fresh') if stale?(last_modified: Time.at(1_000_000_000)))
  def upload = render(json: { name: params[:file].original_filename, size: params[:file].size, note: params[:note] })
end
Site.initialize!
run Site
