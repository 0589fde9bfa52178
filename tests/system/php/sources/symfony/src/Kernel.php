<?php
namespace Site;

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\JsonResponse;
use Symfony\Component\HttpFoundation\RedirectResponse;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;
use Symfony\Component\HttpKernel\Exception\AccessDeniedHttpException;
use Symfony\Component\HttpKernel\Kernel as HttpKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

class Kernel extends HttpKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle()];
    }

    public function getProjectDir(): string
    {
        return dirname(__DIR__);
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'of the test',
            'session' => ['enabled' => true, 'handler_id' => null, 'save_path' => '%kernel.project_dir%/var/sessions', 'storage_factory_id' => 'session.storage.factory.native'],
            'router' => ['utf8' => true],
            'http_method_override' => false,
            'trusted_proxies' => '127.0.0.1',
        ]);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        foreach (['/' => 'start', '/login' => 'login', '/private' => 'private_', '/hello/{name}' => 'hello', '/upload' => 'upload', '/file' => 'file',
                  '/stream' => 'stream', '/fails' => 'fails', '/echo' => 'echo_'] as $path => $name) {
            $routes->add($name, $path)->controller([$this, $name]);
        }
    }

    private function page(string $title, string $content): Response
    {
        return new Response("<!doctype html><html lang=en><head><title>$title</title><link rel=icon href=/build/icon.svg><link rel=stylesheet href=/build/app.css></head>"
            . "<body><h1>$title</h1>$content</body></html>");
    }

    public function start(Request $request): Response
    {
        return $this->page('Start', '<a href="' . $this->container->get('router')->generate('hello', ['name' => 'Grüße']) . '">hello</a>');
    }

    public function hello(Request $request, string $name): Response
    {
        return $this->page('Hello ' . htmlspecialchars($name), '<p>' . htmlspecialchars($request->getUri()) . '</p>');
    }

    public function login(Request $request): Response
    {
        if ($request->isMethod('POST')) {
            if ($request->request->get('password') !== 'secret') {
                return $this->page('Log in', 'wrong')->setStatusCode(401);
            }
            $request->getSession()->migrate(true);
            $request->getSession()->set('user', $request->request->get('user'));
            return new RedirectResponse('/private');
        }
        return $this->page('Log in', '<form method=post><input name=user><input name=password type=password><button>Log in</button></form>');
    }

    public function private_(Request $request): Response
    {
        $user = $request->getSession()->get('user');
        if (!$user) {
            throw new AccessDeniedHttpException();
        }
        return $this->page('Private', 'Logged in as ' . htmlspecialchars($user));
    }

    public function upload(Request $request): Response
    {
        $file = $request->files->get('file');
        $file->move($this->getProjectDir() . '/public/uploads', $file->getClientOriginalName());
        return new JsonResponse(['size' => filesize($this->getProjectDir() . '/public/uploads/' . $file->getClientOriginalName()), 'kind' => $file->getClientMimeType()], 201);
    }

    public function file(): Response
    {
        return new BinaryFileResponse($this->getProjectDir() . '/public/build/app.css', 200, ['Content-Type' => 'text/css']);
    }

    public function stream(): Response
    {
        return new StreamedResponse(function () {
            for ($number = 0; $number < 1000; ++$number) {
                echo "line $number\n";
            }
        }, 200, ['Content-Type' => 'text/plain']);
    }

    public function fails(): Response
    {
        throw new \RuntimeException('of the test');
    }

    public function echo_(Request $request): Response
    {
        return new JsonResponse(['method' => $request->getMethod(), 'path' => $request->getPathInfo(), 'base' => $request->getBaseUrl(), 'query' => $request->query->all(),
            'length' => strlen($request->getContent()), 'client' => $request->getClientIp(), 'secure' => $request->isSecure(), 'host' => $request->getHttpHost(),
            'user' => $request->getUser()]);
    }
}
