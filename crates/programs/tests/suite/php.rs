//! Folders of scripts as clients see them, with a php-fpm behind each.

mod fpm;
mod paths;
mod places;
mod random_children;
mod scripts;
