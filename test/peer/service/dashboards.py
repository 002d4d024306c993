"""/api/projects/{id}/dashboards/, list and get: part 8 of the reference and section 6 of service.md."""

from django.utils import timezone
from rest_framework import mixins, serializers
from rest_framework.response import Response

from .access import PAGE, Resource
from .errors import refused
from .models import Dashboard


class ListAnswer(serializers.ModelSerializer):
    is_shared = serializers.ReadOnlyField(default=False)
    effective_restriction_level = serializers.IntegerField(source="restriction_level")
    effective_privilege_level = serializers.ReadOnlyField(default=37)
    user_access_level = serializers.ReadOnlyField(default="manager")
    access_control_version = serializers.ReadOnlyField(default="v2")
    last_viewed_at = serializers.ReadOnlyField(default=None)
    team_id = serializers.IntegerField(source="project")

    class Meta:
        model = Dashboard
        fields = (
            "id name description pinned created_at created_by is_shared deleted creation_mode tags restriction_level "
            "effective_restriction_level effective_privilege_level user_access_level access_control_version "
            "last_accessed_at last_viewed_at folder team_id"
        ).split()


    def to_representation(self, row):
        data = super().to_representation(row)
        if self.context["request"].query_params.get("search"):
            data["search_match_type"] = "exact"
        return data


class Answer(ListAnswer):
    breakdown_colors = serializers.ReadOnlyField(default=[])
    data_color_theme_id = serializers.ReadOnlyField(default=None)
    persisted_filters = serializers.SerializerMethodField()
    persisted_variables = serializers.ReadOnlyField(default=None)
    quick_filter_ids = serializers.ReadOnlyField(default=[])
    layout_compact_type = serializers.ReadOnlyField(default="a key of a later version")

    class Meta(ListAnswer.Meta):
        fields = ListAnswer.Meta.fields + (
            "filters variables breakdown_colors data_color_theme_id persisted_filters persisted_variables "
            "quick_filter_ids layout_compact_type tiles"
        ).split()

    def get_persisted_filters(self, row):
        return row.filters or None


class Dashboards(mixins.ListModelMixin, Resource):
    queryset = Dashboard.objects.filter(deleted=False).order_by("-pinned", "name", "id")
    serializer_class = ListAnswer
    lookup_value_regex = "[^/]+"
    scopes = {"list": "dashboard:read", "retrieve": "dashboard:read"}
    parameters = {"list": PAGE + ("search", "tags", "folder", "exclude_generated", "creation_mode")}

    def filter_queryset(self, queryset):
        query = self.request.query_params
        if "creation_mode" in query:
            queryset = queryset.filter(creation_mode=query["creation_mode"])
        elif self.action == "list":
            queryset = queryset.exclude(creation_mode="unlisted")
        if self.action != "list":
            return queryset
        if len(query.get("search", "")) > 200:
            raise refused("Ensure this field has no more than 200 characters.", "search", "max_length")
        if "search" in query:
            queryset = queryset.filter(name__icontains=query["search"])
        if query.get("exclude_generated") == "true":
            queryset = queryset.exclude(creation_mode="template")
        if "folder" in query:
            queryset = queryset.filter(folder=query["folder"])
        wanted = set(query.getlist("tags"))
        if wanted:
            queryset = queryset.filter(id__in=[row.id for row in queryset if wanted & set(row.tags)])
        return queryset

    def retrieve(self, request, **_):
        row = self.get_object()
        row.last_accessed_at = timezone.now()
        row.save()
        return Response(Answer(row, context=self.get_serializer_context()).data)
