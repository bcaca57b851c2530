#include "client/cli/options/output_options.h"

#include <string>
#include <string_view>
#include <vector>

#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

Status Display(const std::string& word, RunOptions* to) {
  constexpr std::string_view kWords[] = {"map",      "allocation", "alloc",
                                         "bindings", "bind",       "topo"};
  if (word == "map") {
    to->display_map = true;
  } else if (word == "allocation" || word == "alloc") {
    to->display_allocation = true;
  } else if (word == "bindings" || word == "bind") {
    to->report_bindings = true;
  } else if (word == "topo" || word == "topology") {
    to->display_topology = true;
  } else {
    const std::string_view nearest = Nearest(word, kWords);
    return Status(kErrBadParam,
                  "--display takes map, allocation, bindings and topo, not '" +
                      word + "'" +
                      (nearest.empty()
                           ? ""
                           : "; did you mean '" + std::string(nearest) + "'?"));
  }
  return Status();
}

Status NoteDirectory(const std::string& text, RunOptions* to) {
  const std::vector<std::string> parts = Split(text, ':');
  if (parts[0].empty()) {
    return Status(kErrBadParam, "--output-filename needs a directory");
  }
  to->output_directory = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    for (const std::string& word : Split(parts[i], ',')) {
      if (word == "nocopy") {
        to->only_to_files = true;
      } else if (word == "nojobid") {
        to->job_below_directory = false;
      } else if (word != "copy" && word != "jobid") {
        return Status(kErrBadParam,
                      "--output-filename takes :nocopy and :nojobid, not ':" +
                          word + "'");
      }
    }
  }
  return Status();
}

// Stores the file's name and checks that its directory exists, because the file
// is created before the job has a name.
Status NoteFile(const std::string& file, RunOptions* to) {
  const size_t slash = file.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  if (name == file.size()) {
    return Status(kErrBadParam, "--output file= needs the name of a file");
  }
  if (file.find('%') < name) {
    return Status(kErrBadParam,
                  "--output file= takes %j and %r in the name of the file, not "
                  "in that of its directory");
  }
  for (size_t at = 0; (at = file.find('%', at)) != std::string::npos; at += 2) {
    const std::string word = file.substr(at, 2);
    if (word == "%j" || word == "%r") continue;
    return Status(kErrBadParam,
                  "--output file= takes %j (the job's name) and %r (the rank), "
                  "not '" +
                      word + "'");
  }
  to->output_file = file;
  // mpirun writes a file for each rank.
  if (to->as_mpirun && !to->has_rank_files()) to->output_file += ".%r";
  return Status();
}

Status Output(const TypedOption& typed, const std::string& word,
              RunOptions* to) {
  if (word == "tag") {
    to->tag_output = true;
  } else if (word == "timestamp") {
    to->timestamp_output = true;
  } else if (word == "xml") {
    to->xml_output = true;
  } else if (word == "merge" || word == "merge-stderr-to-stdout") {
    to->job.merge_stderr = true;
  } else if (word.starts_with("dir=") || word.starts_with("directory=")) {
    return NoteDirectory(word.substr(word.find('=') + 1), to);
  } else if (word.starts_with("file=")) {
    return NoteFile(word.substr(word.find('=') + 1), to);
  } else {
    return WrongValue(typed,
                      "tag, timestamp, xml, merge, dir=DIR or file=FILE");
  }
  return Status();
}

}  // namespace

Option::Apply SetDisplay(RunOptions* to) {
  return [to](const TypedOption& typed) {
    for (const std::string& word : Split(typed.values[0], ',')) {
      if (Status s = Display(word, to); !s.ok()) return s;
    }
    return Status();
  };
}

Option::Apply SetOutput(RunOptions* to) {
  return [to](const TypedOption& typed) {
    for (const std::string& word : Split(typed.values[0], ',')) {
      if (Status s = Output(typed, word, to); !s.ok()) return s;
    }
    return Status();
  };
}

Option::Apply SetOutputDirectory(RunOptions* to) {
  return [to](const TypedOption& typed) {
    return NoteDirectory(typed.values[0], to);
  };
}

}  // namespace canopy::cli
