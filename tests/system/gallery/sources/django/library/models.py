"""Books with a file, for Django's admin."""

from django.contrib import admin
from django.db import models


class Book(models.Model):
    title = models.CharField(max_length=100)
    scan = models.FileField(upload_to="scans", blank=True)

    def __str__(self):
        return self.title


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    search_fields = ["title"]
