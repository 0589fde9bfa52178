# The applications of Plack::Test::Suite: a request names its own in X-Plack-Test. Lint looks at what the server gives them.
use strict;
use warnings;

use Plack::Middleware::Lint;
use Plack::Test::Suite;

Plack::Middleware::Lint->wrap(Plack::Test::Suite->test_app_handler);
