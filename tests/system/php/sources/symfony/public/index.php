<?php
require 'Symfony/Bundle/FrameworkBundle/autoload.php';
require __DIR__ . '/../src/Kernel.php';

use Symfony\Component\HttpFoundation\Request;

$kernel = new Site\Kernel('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
