# Notes that several people edit at the same time: Active Record, Active Storage, streams, and a channel of Action Cable.
ENV["RAILS_ENV"] ||= "production"
require "rails"
require "active_record/railtie"
require "active_storage/engine"
require "action_controller/railtie"
require "action_cable/engine"

module Notes
  class Application < Rails::Application
    config.root = __dir__
    config.load_defaults 6.1
    config.eager_load = true
    config.secret_key_base = "of the gallery" * 5
    config.hosts.clear
    config.logger = ActiveSupport::Logger.new($stderr)
    config.log_level = :warn
    # A token of the last form of a page is good for all of them.
    config.action_controller.per_form_csrf_tokens = false
    config.active_storage.service_configurations = {disk: {service: "Disk", root: root.join("files")}}
    config.active_storage.service = :disk
    config.action_cable.cable = {adapter: "redis", url: "unix://#{root.join('redis.sock')}"}
    config.paths["config/database"] = [root.join("database.yml").to_s]
    config.paths["app/views"] = [root.to_s]
    # Active Storage cleans up behind a request, as `rails new` has it.
    config.active_job.queue_adapter = :async

    routes.append do
      root to: "notes#index"
      resource :session, only: %i[create destroy]
      resources :notes, only: %i[create show update] do
        get :film, on: :member
      end
      get "events", to: "streams#events"
      get "dies", to: "notes#dies"
      get "action_cable.js", to: "notes#client"
    end
  end
end

Notes::Application.initialize!
require_relative "models"
require_relative "channels"
require_relative "controllers"
