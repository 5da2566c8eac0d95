//! Plain nginx in front of the backend: what the gateway is compared with.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use super::http::Connection;
use super::process::{self, Place, Started};

/// One nginx with one worker.
pub(super) struct Nginx {
    pub(super) address: SocketAddr,
    /// The worker's; the master does nothing while requests are served.
    pub(super) pid: u32,
    _master: Started,
}

impl Nginx {
    /// Starts nginx with its files in `folder`.
    pub(super) fn start(
        program: &str,
        folder: &Path,
        backend: SocketAddr,
        place: Place,
    ) -> anyhow::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        fs::create_dir_all(folder)?;
        let folder_name = folder.to_str().context("the folder's name is not UTF-8")?;
        let file = folder.join("nginx.conf");
        fs::write(&file, configuration(folder_name, address, backend))?;
        let mut command = place.command(program);
        command.args(["-p", folder_name, "-c"]).arg(&file).arg("-e").arg(folder.join("error.log"));
        let mut master = Started::new(&mut command)?;
        process::wait_until(Duration::from_secs(5), "nginx", || {
            master.must_run().context("nginx; see its messages above")?;
            Ok(Connection::open(address).is_ok())
        })?;
        let pid = process::children(master.pid())?.first().copied().context("nginx has no worker")?;
        Ok(Self { address, pid, _master: master })
    }
}

/// `proxy_pass` with kept connections on both sides and nothing else. `/unbuffered` is for the streamed answers, which
/// the default would hold back.
fn configuration(folder: &str, address: SocketAddr, backend: SocketAddr) -> String {
    let pass = "proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection \"\";";
    format!(
        r#"daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  tcp_nodelay on;
  keepalive_requests 100000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  upstream backend {{ server {backend}; keepalive 256; keepalive_requests 100000000; }}
  server {{
    listen {address};
    location / {{ {pass} proxy_buffering on; }}
    location /unbuffered/ {{ {pass} proxy_buffering off; }}
  }}
}}
"#
    )
}
