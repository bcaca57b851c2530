"""The targets that programs are made of, as data for a test."""

_Graph = provider(
    doc = "What a target consists of, with all that it depends on.",
    fields = {
        "joined": "list of files: what the target, by build/library.bzl, has the text of",
        "sources": "depset of files: sources that are in the repository",
        "targets": "depset of JSON texts, one a target",
    },
)

def _files(ctx, attribute):
    return getattr(ctx.rule.files, attribute, [])

def _deps(ctx):
    return getattr(ctx.rule.attr, "deps", [])

def _sources(ctx):
    """The sources of a target, with those that are joined to be compiled."""
    sources = []
    for src in getattr(ctx.rule.attr, "srcs", []):
        joined = src[_Graph].joined if _Graph in src else []
        sources += joined or src.files.to_list()
    return sources

def _graph_aspect_impl(target, ctx):
    sources = _sources(ctx) + _files(ctx, "hdrs")
    record = struct(
        name = str(target.label),
        kind = ctx.rule.kind,
        files = [f.short_path for f in sources],
        deps = [str(dep.label) for dep in _deps(ctx)],
    )
    below = [dep[_Graph] for dep in _deps(ctx)]
    return [_Graph(
        joined = sources if "joined" in ctx.rule.attr.tags else [],
        sources = depset(
            [f for f in sources if f.is_source and target.label.workspace_name == ""],
            transitive = [graph.sources for graph in below],
        ),
        targets = depset(
            [record.to_json()],
            transitive = [graph.targets for graph in below],
        ),
    )]

_graph_aspect = aspect(
    implementation = _graph_aspect_impl,
    attr_aspects = ["deps", "srcs"],
)

def _dependency_graph_impl(ctx):
    graphs = [root[_Graph] for root in ctx.attr.roots]
    out = ctx.actions.declare_file(ctx.label.name + ".jsonl")
    targets = depset(transitive = [graph.targets for graph in graphs])
    ctx.actions.write(out, "".join([t + "\n" for t in targets.to_list()]))
    sources = depset(transitive = [graph.sources for graph in graphs])
    return [DefaultInfo(
        files = depset([out]),
        runfiles = ctx.runfiles([out], transitive_files = sources),
    )]

dependency_graph = rule(
    doc = "NAME.jsonl has a line for each C++ target that the roots link, and " +
          "their sources are its runfiles. Nothing is compiled for it.",
    implementation = _dependency_graph_impl,
    attrs = {"roots": attr.label_list(aspects = [_graph_aspect])},
)
