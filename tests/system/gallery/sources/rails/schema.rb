# Makes the tables: `ruby schema.rb`.
require_relative "application"

ActiveRecord::Schema.define do
  create_table :notes do |table|
    table.string :author, :title, null: false
    table.text :text
    table.integer :lock_version, default: 0, null: false
    table.timestamps
  end
  # As `rails active_storage:install` has them.
  create_table :active_storage_blobs do |table|
    table.string :key, null: false, index: {unique: true}
    table.string :filename, null: false
    table.string :content_type
    table.text :metadata
    table.string :service_name, null: false
    table.bigint :byte_size, null: false
    table.string :checksum, null: false
    table.datetime :created_at, null: false
  end
  create_table :active_storage_attachments do |table|
    table.string :name, null: false
    table.references :record, null: false, polymorphic: true, index: false
    table.references :blob, null: false
    table.datetime :created_at, null: false
  end
  create_table :active_storage_variant_records do |table|
    table.belongs_to :blob, null: false, index: false
    table.string :variation_digest, null: false
  end
end
