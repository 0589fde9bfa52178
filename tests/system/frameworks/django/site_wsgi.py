"""A page, uploads, and what Django answers itself."""

import pathlib

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, HttpResponsePermanentRedirect, JsonResponse
from django.urls import path

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="x", USE_X_FORWARDED_HOST=True,
                   SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"), BASE_DIR=pathlib.Path(__file__).parent,
                   MIDDLEWARE=["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware",
                               "django.middleware.clickjacking.XFrameOptionsMiddleware"])


def home(request):
    return HttpResponse("<h1>home</h1>")


def show(request, name):
    query = request.META["QUERY_STRING"]
    return HttpResponse(f"{name} {request.scheme} {request.get_host()} {query}", content_type="text/plain")


def upload(request):
    file = request.FILES["file"]
    return JsonResponse({"name": file.name, "size": file.size, "note": request.POST["note"]})


urlpatterns = [path("", home), path("pages/<str:name>", show), path("uploads", upload),
               path("go", lambda request: HttpResponsePermanentRedirect("/pages/one"))]
application = get_wsgi_application()
