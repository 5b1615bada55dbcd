//! Items in a row that many hold and nobody changes: owned, or lent by something else that is
//! shared and keeps them where they are, such as a mapped file.
//!
//! Taking the slice of a lent buffer asks its owner: code that goes over many items takes the
//! slice once.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Cloning copies nothing.
pub struct Buffer<T>(Holder<T>);

enum Holder<T> {
    Owned(Arc<[T]>),
    Lent(Arc<dyn AsRef<[T]> + Send + Sync>),
}

impl<T> Buffer<T> {
    /// The items of `owner`, where they lie; it lives as long as somebody holds them.
    pub fn lent(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Buffer<T> {
        Buffer(Holder::Lent(Arc::new(owner)))
    }

    /// Whether the items belong to something else.
    pub fn is_lent(&self) -> bool {
        matches!(self.0, Holder::Lent(_))
    }

    /// Whether both are the same items in memory.
    pub fn is_same(&self, other: &Buffer<T>) -> bool {
        std::ptr::eq(&raw const **self, &raw const **other)
    }

    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Holder::Owned(items) => items,
            Holder::Lent(owner) => (**owner).as_ref(),
        }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Buffer<T> {
        Buffer(match &self.0 {
            Holder::Owned(items) => Holder::Owned(items.clone()),
            Holder::Lent(owner) => Holder::Lent(owner.clone()),
        })
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<T> From<Arc<[T]>> for Buffer<T> {
    fn from(items: Arc<[T]>) -> Buffer<T> {
        Buffer(Holder::Owned(items))
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(items: Vec<T>) -> Buffer<T> {
        Buffer(Holder::Owned(items.into()))
    }
}

impl<T, const N: usize> From<[T; N]> for Buffer<T> {
    fn from(items: [T; N]) -> Buffer<T> {
        Buffer(Holder::Owned(Arc::new(items)))
    }
}

impl<T: Clone> From<&[T]> for Buffer<T> {
    fn from(items: &[T]) -> Buffer<T> {
        Buffer(Holder::Owned(items.into()))
    }
}

impl<T> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Buffer<T> {
        Buffer(Holder::Owned(items.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_items_stay_where_they_are_and_live_as_long_as_they_are_held() {
        let owner: Arc<Vec<f64>> = Arc::new(vec![1.0, 2.0, 3.0]);
        struct Handle(Arc<Vec<f64>>);
        impl AsRef<[f64]> for Handle {
            fn as_ref(&self) -> &[f64] {
                &self.0
            }
        }
        let lent = Buffer::lent(Handle(owner.clone()));
        let copy = lent.clone();
        assert!(lent.is_lent() && copy.is_same(&lent) && copy.as_ptr() == owner.as_ptr());
        drop(lent);
        assert_eq!((Arc::strong_count(&owner), &copy[..]), (2, &[1.0, 2.0, 3.0][..]));
        drop(copy);
        assert_eq!(Arc::strong_count(&owner), 1);
        let owned = Buffer::from(vec![1.0, 2.0]);
        assert!(owned.clone().is_same(&owned) && !owned.is_lent());
        assert!(!owned.is_same(&Buffer::from([1.0, 2.0])));
    }
}
