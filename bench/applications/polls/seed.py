"""Makes the tables of the project and fills them, in the file that DATABASE names."""

import datetime
import os

import django

QUESTIONS = 300
CHOICES = 4


def main():
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
    django.setup()
    from django.core.management import call_command
    from django.db import connection
    from polls.models import Choice, Question

    # Readers do not wait for whoever writes.
    connection.cursor().execute("PRAGMA journal_mode = WAL")
    call_command("migrate", verbosity=0)
    began = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    questions = [Question(pk=number, question_text=f"Which of these is number {number} & <more>?",
                          pub_date=began + datetime.timedelta(hours=number)) for number in range(1, QUESTIONS + 1)]
    Question.objects.bulk_create(questions)
    Choice.objects.bulk_create([Choice(question=question, choice_text=f"Answer {letter} to {question.pk}", votes=question.pk % 7)
                                for question in questions for letter in "ABCDEFGH"[:CHOICES]])


if __name__ == "__main__":
    main()
