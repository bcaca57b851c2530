#include "client/cli/options/option_parser.h"

#include <algorithm>
#include <utility>

#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kHelpColumn = 30;

// Calls `visit` with each name of `option` until it returns true.
template <typename Visit>
bool AnyName(const Option& option, Visit visit) {
  std::string_view left = option.names;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    if (visit(left.substr(0, end))) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

const Option* Find(std::span<const Option> table, std::string_view name) {
  for (const Option& option : table) {
    if (AnyName(option, [&](std::string_view n) { return n == name; })) {
      return &option;
    }
  }
  return nullptr;
}

std::string Dashed(std::string_view name) {
  return (name.size() == 1 ? "-" : "--") + std::string(name);
}

Status Unknown(std::span<const Option> table, std::string_view typed,
               std::string_view name) {
  std::vector<std::string_view> known;
  for (const Option& option : table) {
    AnyName(option, [&](std::string_view n) {
      known.push_back(n);
      return false;
    });
  }
  std::string text = "unknown option '" + std::string(typed) + "'";
  const std::string_view nearest = Nearest(name, known);
  if (!nearest.empty()) text += "; did you mean '" + Dashed(nearest) + "'?";
  return Status(kErrBadParam, text);
}

// Returns the option -n for a word such as "n4", which is a name of one letter
// and a value that begins with a digit. Returns null if there is no such
// option, or if it does not take one value.
const Option* FindAttached(std::span<const Option> table,
                           std::string_view body) {
  if (body.size() < 2 || body[1] < '0' || body[1] > '9') return nullptr;
  const Option* option = Find(table, body.substr(0, 1));
  return option != nullptr && option->num_values == 1 ? option : nullptr;
}

// Splits a single value NAME=VALUE into NAME and VALUE. Returns false if there
// is no such value.
bool SplitPair(std::vector<std::string>* values) {
  if (values->size() != 1) return false;
  const std::string pair = values->front();
  const size_t equals = pair.find('=');
  if (equals == 0 || equals == std::string::npos) return false;
  *values = {pair.substr(0, equals), pair.substr(equals + 1)};
  return true;
}

// Returns the text for the values that the option needs: "a value: N", or
// "values: NAME VALUE".
std::string NeededText(const Option& option) {
  return std::string(option.num_values == 1 ? "a value: " : "values: ") +
         std::string(option.value_name);
}

struct Occurrence {
  const Option* option = nullptr;
  TypedOption typed;
};

struct ParsedLine {
  std::vector<Occurrence> options;
  std::vector<std::string> rest;
};

class LineParser {
 public:
  LineParser(std::span<const Option> table, std::span<const std::string> args)
      : table_(table), args_(args) {}

  Result<ParsedLine> Parse(RestRule rule) {
    while (next_ < args_.size()) {
      const std::string& arg = args_[next_];
      if (arg == "--") {
        ++next_;
        break;
      }
      if (arg.size() < 2 || arg[0] != '-') {
        if (rule == RestRule::kFromFirstWord) break;
        line_.rest.push_back(arg);
        ++next_;
        continue;
      }
      if (Status status = ParseOption(); !status.ok()) return status;
    }
    line_.rest.insert(line_.rest.end(), args_.begin() + Offset(), args_.end());
    return std::move(line_);
  }

 private:
  std::ptrdiff_t Offset() const { return static_cast<std::ptrdiff_t>(next_); }

  Status ParseOption() {
    const std::string& arg = args_[next_++];
    std::string_view body = arg;
    body.remove_prefix(arg.starts_with("--") ? 2 : 1);
    Occurrence found;
    const size_t equals = body.find('=');
    std::string_view name = body.substr(0, equals);
    found.option = Find(table_, name);
    if (found.option == nullptr && !arg.starts_with("--")) {
      found.option = FindAttached(table_, body);
      if (found.option != nullptr) {
        name = body.substr(0, 1);
        found.typed.values.emplace_back(body.substr(1));
      }
    } else if (equals != std::string_view::npos) {
      found.typed.values.emplace_back(body.substr(equals + 1));
    }
    found.typed.name = arg.substr(
        0, static_cast<size_t>(name.data() + name.size() - arg.data()));
    if (found.option == nullptr) return Unknown(table_, found.typed.name, name);
    if (Status status = TakeValues(*found.option, &found.typed); !status.ok()) {
      return status;
    }
    line_.options.push_back(std::move(found));
    return Status();
  }

  Status TakeValues(const Option& option, TypedOption* typed) {
    const auto wanted = static_cast<size_t>(option.num_values);
    if (typed->values.size() > wanted) {
      return Status(kErrBadParam,
                    "option '" + typed->name + "' takes no value");
    }
    while (typed->values.size() < wanted) {
      if (option.joins_values && SplitPair(&typed->values)) break;
      if (next_ == args_.size()) {
        return Status(kErrBadParam, "option '" + typed->name + "' needs " +
                                        NeededText(option));
      }
      typed->values.push_back(args_[next_++]);
    }
    return Status();
  }

  const std::span<const Option> table_;
  const std::span<const std::string> args_;
  size_t next_ = 0;
  ParsedLine line_;
};

}  // namespace

Result<std::vector<std::string>> ApplyOptions(std::span<const Option> table,
                                              std::span<const std::string> args,
                                              RestRule rule) {
  Result<ParsedLine> line = LineParser(table, args).Parse(rule);
  if (!line.ok()) return line.status();
  for (const Occurrence& found : line->options) {
    if (Status s = found.option->apply(found.typed); !s.ok()) return s;
    if (found.option->last) break;
  }
  return std::move(line->rest);
}

std::string OptionHelp(std::span<const Option> table) {
  std::string out;
  for (const Option& option : table) {
    if (option.help.empty()) continue;
    std::string left = "  ";
    AnyName(option, [&](std::string_view name) {
      if (left.size() > 2) left += ", ";
      left += Dashed(name);
      return false;
    });
    if (!option.value_name.empty()) {
      left += " " + std::string(option.value_name);
    }
    if (left.size() + 2 > kHelpColumn) {
      out += left + "\n";
      left.clear();
    }
    left.resize(kHelpColumn, ' ');
    for (const std::string& line : Split(option.help, '\n')) {
      out += left + line + "\n";
      left.assign(kHelpColumn, ' ');
    }
  }
  return out;
}

}  // namespace canopy::cli
