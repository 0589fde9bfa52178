"""Random configurations in nginx, and in Serow as `serow import` translates them."""
