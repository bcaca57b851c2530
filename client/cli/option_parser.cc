#include "client/cli/option_parser.h"

#include <algorithm>
#include <utility>

#include "client/cli/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kHelpColumn = 30;

// Calls `visit` with each name of `spec` until it returns true.
template <typename Visit>
bool AnyName(const OptionSpec& spec, Visit visit) {
  std::string_view left = spec.names;
  while (!left.empty()) {
    const size_t end = std::min(left.find(' '), left.size());
    if (visit(left.substr(0, end))) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

const OptionSpec* Find(std::span<const OptionSpec> specs,
                       std::string_view name) {
  for (const OptionSpec& spec : specs) {
    if (AnyName(spec, [&](std::string_view n) { return n == name; })) {
      return &spec;
    }
  }
  return nullptr;
}

std::string Dashed(std::string_view name) {
  return (name.size() == 1 ? "-" : "--") + std::string(name);
}

Status Unknown(std::span<const OptionSpec> specs, std::string_view typed,
               std::string_view name) {
  std::vector<std::string_view> known;
  for (const OptionSpec& spec : specs) {
    AnyName(spec, [&](std::string_view n) {
      known.push_back(n);
      return false;
    });
  }
  std::string text = "unknown option '" + std::string(typed) + "'";
  const std::string_view nearest = Nearest(name, known);
  if (!nearest.empty()) text += "; did you mean '" + Dashed(nearest) + "'?";
  return Status(kErrBadParam, text);
}

// "n4" is -n with the value 4 where n takes one and digits follow.
const OptionSpec* FindAttached(std::span<const OptionSpec> specs,
                               std::string_view body) {
  if (body.size() < 2 || body[1] < '0' || body[1] > '9') return nullptr;
  const OptionSpec* spec = Find(specs, body.substr(0, 1));
  return spec != nullptr && spec->num_values == 1 ? spec : nullptr;
}

class LineParser {
 public:
  LineParser(std::span<const OptionSpec> specs,
             std::span<const std::string> args)
      : specs_(specs), args_(args) {}

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
    ParsedOption option;
    const size_t equals = body.find('=');
    std::string_view name = body.substr(0, equals);
    const OptionSpec* spec = Find(specs_, name);
    if (spec == nullptr && !arg.starts_with("--")) {
      spec = FindAttached(specs_, body);
      if (spec != nullptr) {
        name = body.substr(0, 1);
        option.values.emplace_back(body.substr(1));
      }
    } else if (equals != std::string_view::npos) {
      option.values.emplace_back(body.substr(equals + 1));
    }
    option.typed = arg.substr(
        0, static_cast<size_t>(name.data() + name.size() - arg.data()));
    if (spec == nullptr) return Unknown(specs_, option.typed, name);
    option.id = spec->id;
    if (Status status = TakeValues(*spec, &option); !status.ok()) {
      return status;
    }
    line_.options.push_back(std::move(option));
    return Status();
  }

  Status TakeValues(const OptionSpec& spec, ParsedOption* option) {
    const auto wanted = static_cast<size_t>(spec.num_values);
    if (option->values.size() > wanted) {
      return Status(kErrBadParam,
                    "option '" + option->typed + "' takes no value");
    }
    while (option->values.size() < wanted) {
      if (next_ == args_.size()) {
        return Status(kErrBadParam, "option '" + option->typed + "' wants " +
                                        std::string(spec.value_name));
      }
      option->values.push_back(args_[next_++]);
    }
    return Status();
  }

  const std::span<const OptionSpec> specs_;
  const std::span<const std::string> args_;
  size_t next_ = 0;
  ParsedLine line_;
};

}  // namespace

Result<ParsedLine> ParseLine(std::span<const OptionSpec> specs,
                             std::span<const std::string> args, RestRule rule) {
  return LineParser(specs, args).Parse(rule);
}

std::string OptionHelp(std::span<const OptionSpec> specs) {
  std::string out;
  for (const OptionSpec& spec : specs) {
    if (spec.help.empty()) continue;
    std::string left = "  ";
    AnyName(spec, [&](std::string_view name) {
      if (left.size() > 2) left += ", ";
      left += Dashed(name);
      return false;
    });
    if (!spec.value_name.empty()) left += " " + std::string(spec.value_name);
    if (left.size() + 2 > kHelpColumn) {
      out += left + "\n";
      left.clear();
    }
    left.resize(kHelpColumn, ' ');
    for (const std::string& line : Split(spec.help, '\n')) {
      out += left + line + "\n";
      left.assign(kHelpColumn, ' ');
    }
  }
  return out;
}

}  // namespace canopy::cli
