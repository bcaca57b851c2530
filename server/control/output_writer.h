// Opens files and writes a job's output into them, by a thread of its own: a
// file system may let it wait.
#ifndef CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_
#define CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/status.h"
#include "server/ports/job_commands_port.h"

namespace canopy::control {

// How much of it is in each file. Where both are one, `error` stays 0.
struct OutputPositions {
  uint64_t output = 0;
  uint64_t error = 0;
};

// Loop thread only.
class OutputWriter {
 public:
  // So many pieces more were written, or could not be (a status, once for each
  // file): what follows is dropped. Never from within Write, and after Opened.
  using Done = std::function<void(size_t pieces, const OutputPositions& at,
                                  const Status& status)>;

  // How it went to open the files, once, and where the first piece goes. The
  // status says which can not be opened, and why: then all is dropped.
  using Opened =
      std::function<void(const Status& status, const OutputPositions& begin)>;

  // Begins to open the files. `from`: none of a new job, whose files are made
  // or emptied; of one that goes on, what comes after it is removed. `held` is
  // kept until they are open or can not be, whatever becomes of the writer.
  OutputWriter(EventLoop* loop, HostOutput names,
               std::optional<OutputPositions> from, std::shared_ptr<void> held,
               Opened opened, Done done);
  // What is not written yet may come to be. Nobody is called any more.
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  // May come before the files are open.
  void Write(bool error, Bytes data);

 private:
  struct Shared;

  static void Open(const std::shared_ptr<Shared>& shared,
                   const HostOutput& names,
                   const std::optional<OutputPositions>& from);
  static void Serve(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_
