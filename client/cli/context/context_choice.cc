#include "client/cli/context/context_choice.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/cli/context/context_store.h"
#include "client/cli/context/run_choice.h"
#include "client/cli/context/run_contexts.h"

namespace canopy::cli {
namespace {

using Found = std::optional<v1::Context>;

std::string NameOf(const std::string& asked) {
  const char* const said = std::getenv("CANOPY_CONTEXT");
  return asked.empty() && said != nullptr ? said : asked;
}

template <typename Store>
Result<Found> Load(const Store& store, const std::string& name) {
  Result<v1::Context> context = store.Load(name);
  if (!context.ok()) return context.status();
  return Found(*std::move(context));
}

Result<Found> FindNamed(const std::string& name) {
  const ContextStore store;
  Result<std::vector<std::string>> known = store.List();
  if (!known.ok()) return known.status();
  if (std::ranges::count(*known, name) > 0) return Load(store, name);
  const RunContexts contexts;
  const Result<std::vector<std::string>> runs = contexts.List();
  if (!runs.ok()) return runs.status();
  if (std::ranges::count(*runs, name) > 0) return Load(contexts, name);
  known->insert(known->end(), runs->begin(), runs->end());
  return ChooseContext(*known, name).status();
}

// Returns the overlay that is chosen if the user gives no name.
Result<Found> ChosenOverlay() {
  const ContextStore store;
  Result<std::vector<std::string>> known = store.List();
  if (!known.ok()) return known.status();
  Result<std::optional<std::string>> chosen =
      ChooseContext(*known, "", DefaultContextName(&getenv));
  if (!chosen.ok()) return chosen.status();
  if (!chosen->has_value()) return Found();
  return Load(store, **chosen);
}

Result<std::vector<v1::Context>> LoadRuns() {
  const RunContexts contexts;
  Result<std::vector<std::string>> names = contexts.List();
  if (!names.ok()) return names.status();
  std::vector<v1::Context> runs;
  for (const std::string& name : *names) {
    Result<v1::Context> run = contexts.Load(name);
    // A run that has just ended is not an error.
    if (run.ok()) runs.push_back(*std::move(run));
  }
  return runs;
}

Result<v1::Context> Needed(Result<Found> found, const Status& none) {
  if (!found.ok()) return found.status();
  if (!found->has_value()) return none;
  return **std::move(found);
}

// Returns all overlays; inside an allocation, without the overlays of other
// allocations.
Result<std::vector<v1::Context>> LoadOverlays() {
  const ContextStore store;
  Result<std::vector<std::string>> names = store.List();
  if (!names.ok()) return names.status();
  std::vector<v1::Context> overlays;
  for (const std::string& name :
       CountingContexts(*std::move(names), DefaultContextName(&getenv))) {
    Result<v1::Context> context = store.Load(name);
    if (context.ok()) {
      overlays.push_back(*std::move(context));
    } else if (context.code() != kErrNotFound) {
      return context.status();
    }
  }
  return overlays;
}

// If there is a context that is chosen when the user gives no name, moves it to
// the front.
void PutChosenFirst(const std::vector<v1::Context>& runs, Contexts* contexts) {
  std::string name;
  if (const Result<Found> overlay = ChosenOverlay(); !overlay.ok()) {
    return;
  } else if (overlay->has_value()) {
    name = (*overlay)->name();
  } else if (!runs.empty()) {
    const Result<size_t> run = ChooseRun(runs, PlaceHere());
    if (run.ok()) name = runs[*run].name();
  }
  const auto chosen =
      std::ranges::find(contexts->all, name, &v1::Context::name);
  if (chosen == contexts->all.end()) return;
  std::rotate(contexts->all.begin(), chosen, chosen + 1);
  contexts->first_is_chosen = true;
}

}  // namespace

Result<Found> FindContext(const std::string& asked) {
  const std::string name = NameOf(asked);
  return name.empty() ? ChosenOverlay() : FindNamed(name);
}

Result<v1::Context> NeedOverlay(const std::string& asked) {
  Result<Found> found = FindContext(asked);
  if (!found.ok() || found->has_value()) return Needed(std::move(found), {});
  const Result<std::vector<std::string>> runs = RunContexts().List();
  if (!runs.ok() || runs->empty()) return NoContext();
  return Status(kErrNotFound,
                "no overlay of 'canopy up' is up; the agents of a 'canopy run' "
                "end with it: see 'canopy ps' and 'canopy kill', or name them "
                "with --context (" +
                    runs->front() + ")");
}

Result<v1::Context> NeedContext(const std::string& asked) {
  Result<Found> found = FindContext(asked);
  if (!found.ok() || found->has_value()) return Needed(std::move(found), {});
  Result<std::vector<v1::Context>> runs = LoadRuns();
  if (!runs.ok()) return runs.status();
  if (runs->empty()) return NoContext();
  const Result<size_t> chosen = ChooseRun(*runs, PlaceHere());
  if (!chosen.ok()) return chosen.status();
  return (*std::move(runs))[*chosen];
}

Result<Contexts> FindContexts(const std::string& asked) {
  if (const std::string name = NameOf(asked); !name.empty()) {
    Result<v1::Context> named = Needed(FindNamed(name), {});
    if (!named.ok()) return named.status();
    return Contexts{{*std::move(named)}, true};
  }
  Result<std::vector<v1::Context>> overlays = LoadOverlays();
  if (!overlays.ok()) return overlays.status();
  Result<std::vector<v1::Context>> runs = LoadRuns();
  if (!runs.ok()) return runs.status();
  Contexts contexts{*std::move(overlays), false};
  contexts.all.insert(contexts.all.end(), runs->begin(), runs->end());
  PutChosenFirst(*runs, &contexts);
  return contexts;
}

Result<std::vector<std::string>> ContextNames() {
  Result<std::vector<std::string>> names = ContextStore().List();
  if (!names.ok()) return names.status();
  Result<std::vector<std::string>> runs = RunContexts().List();
  if (!runs.ok()) return runs.status();
  names->insert(names->end(), runs->begin(), runs->end());
  return names;
}

Status NoContext() {
  return Status(kErrNotFound,
                "no overlay is up, and no 'canopy run' is running; 'canopy "
                "up' starts an overlay");
}

bool HasEnded(const v1::Context& run) {
  return run.has_launcher() &&
         RunContexts().Load(run.name()).code() == kErrNotFound;
}

}  // namespace canopy::cli
