"""What makes this server stricter than the real one: serializers that refuse what the reference does not name, and the
record of everything strange that was sent."""

import json
import threading

from rest_framework import exceptions, parsers, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

_lock = threading.Lock()
_record = []


def strange(where, what):
    """Notes something that no client of the service should send."""
    with _lock:
        _record.append({"where": where, "what": what})


class StrangeView(APIView):
    """GET /__strange lists the record, DELETE also empties it."""

    def get(self, request):
        with _lock:
            return Response(list(_record))

    def delete(self, request):
        with _lock:
            was = list(_record)
            _record.clear()
        return Response(was)


def _pairs(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError("a key comes twice")
    return dict(pairs)


class JSON(parsers.BaseParser):
    """Parses JSON, and refuses NaN, doubled keys and anything that is not UTF-8."""

    media_type = "application/json"

    def parse(self, stream, media_type=None, parser_context=None):
        def constant(word):
            raise ValueError("JSON has no " + word)

        try:
            return json.loads(stream.read().decode("utf-8"), object_pairs_hook=_pairs, parse_constant=constant)
        except ValueError as err:
            request = parser_context["request"]
            strange("%s %s" % (request.method, request.path), "body: %s" % err)
            raise exceptions.ParseError("JSON parse error - %s" % err)


class Text(serializers.CharField):
    def to_internal_value(self, data):
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Whole(serializers.IntegerField):
    def to_internal_value(self, data):
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class Truth(serializers.BooleanField):
    def to_internal_value(self, data):
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Choice(serializers.ChoiceField):
    def to_internal_value(self, data):
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return super().to_internal_value(data)


class Time(serializers.DateTimeField):
    def to_internal_value(self, data):
        if not isinstance(data, str):
            self.fail("invalid", format="ISO 8601")
        return super().to_internal_value(data)


class AnyObject(serializers.DictField):
    """An object with keys that another function checks."""


class Texts(serializers.ListField):
    child = Text()


class Body(serializers.Serializer):
    """A body or a part of one: a key that is not declared is an error."""

    def to_internal_value(self, data):
        if isinstance(data, dict):
            unknown = [key for key in data if key not in self.fields or self.fields[key].read_only]
            if unknown:
                raise serializers.ValidationError(
                    {key: serializers.ErrorDetail("Unknown field.", code="unknown_field") for key in unknown}
                )
        return super().to_internal_value(data)


def read(kind, request, **kwargs):
    """The request's body, checked by the serializer class. What the class refuses is strange."""
    body = kind(data=request.data, **kwargs)
    if not body.is_valid():
        strange("%s %s" % (request.method, request.path), json.loads(json.dumps(body.errors)))
        raise serializers.ValidationError(body.errors)
    return body.validated_data
