"""Which script a path runs, and which file it sends: random paths to php-fpm behind Serow, judged by a model of docs/php.md."""
