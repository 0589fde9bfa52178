<?php

namespace Serow;

(new TemplateProcess())->run();
